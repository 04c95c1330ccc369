"""`python -m discreet` is the command `discreet`."""

from discreet.cli import app

if __name__ == "__main__":
    app(prog_name="discreet")
