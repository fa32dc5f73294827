"""`python -m dpverify`: the command line."""

from dpverify.faces.cli import main

if __name__ == "__main__":
    main()
