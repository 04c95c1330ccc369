"""Names of other libraries, over what discreet does: a notebook runs after changing its imports."""
