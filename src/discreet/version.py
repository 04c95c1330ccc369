"""The version, for those below the package's front."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
