"""The one kind of error that is meant for the user's eyes."""


class UserError(ValueError):
    """Something that the user gave is wrong; the message names it, says what was found and wanted, and what to do.

    The command line prints the message alone, without a traceback, and exits with status 2.
    """
