"""`python -m headrace.cli`: the command without its installed script."""

from headrace.cli import main

main()
