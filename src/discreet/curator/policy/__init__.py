"""The owner's policy: one TOML file that says who is protected, how well, and who may ask."""
