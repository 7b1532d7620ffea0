"""`python -m leasehold` is the command `leasehold`."""

from leasehold.cli import main

if __name__ == "__main__":
    main()
