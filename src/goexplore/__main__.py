"""`python -m goexplore`."""

from goexplore.cli import main

main()
