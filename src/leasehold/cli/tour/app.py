"""The app that the tour's worker processes import. They end with the tour, however it ends."""

import os
import threading

from leasehold.cli.tour.kinds import make_tour


def follow(descriptor: int) -> None:
    """End this process when the tour's end of the pipe is closed: no worker outlives a tour that was killed."""
    while os.read(descriptor, 1):
        pass
    os._exit(1)


app = make_tour(os.environ["LEASEHOLD_TOUR_RUN"], os.environ["LEASEHOLD_TOUR_MARKS"]).app

threading.Thread(target=follow, args=(0,), daemon=True).start()
