"""The command `leasehold`: one module for each command. It uses the façade and the read models, never the database."""


def main() -> None:
    from leasehold.cli.root import main as run  # pipelines use modules of this package, and not the command

    run()
