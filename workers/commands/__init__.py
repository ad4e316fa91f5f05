"""One module for each subcommand of `firstbyte`; each has `run(arguments) -> exit code`.

A module is imported only when its command is asked for, so that Chrome's driver costs a raw probe nothing.
"""

# How commands end, whichever it is; docs/command-line.md has the words.
EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INCONCLUSIVE, EXIT_NOT_MEASURED = range(5)


class UsageError(Exception):
    """The command cannot be carried out as it was given; the text says what to change."""
