"""The non-interactive model: publish once, and every later question is free post-processing.

Names are loaded when they are first used.
"""
