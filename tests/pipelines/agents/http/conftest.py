"""A server for the tests of a module, on each database."""

from contextlib import ExitStack

import pytest

from leasehold.pipelines.agents.coordinator.session import SessionRequest, start_session
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.agents.sessions import SessionTerms
from tests.pipelines.agents.http.servers import AgentsServer


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def server(request, tmp_path_factory):
    """One server for all tests of a module; each test uses sessions of its own."""
    folder = tmp_path_factory.mktemp("served")
    if request.param == "sqlite":
        with AgentsServer(folder, f"sqlite:///{folder}/agents.db") as server:
            yield server
        return
    databases = request.getfixturevalue("databases")
    url = databases.make(request.getfixturevalue("postgres_template"))
    with AgentsServer(folder, url) as server:
        yield server
    databases.give_back(url)


@pytest.fixture
def client(server):
    return server.client


@pytest.fixture
def opened(server):
    """Opens sessions that this process coordinates, in the server's folder and database."""
    with ExitStack() as stack:
        place = stack.enter_context(open_place(server.folder, server.url))

        def start(name):
            session = stack.enter_context(start_session(place, SessionRequest(SessionTerms(name))))
            session.start()
            return session

        yield start
