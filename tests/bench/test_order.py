"""Each repeat starts with another peer, and none is left out."""

from bench.compare.peers import ALL, POSTGRES, on
from bench.compare.run import turned


def test_each_repeat_starts_with_another_peer_and_has_them_all():
    orders = [turned(list(range(7)), repeat, 3) for repeat in range(3)]
    assert len({order[0] for order in orders}) == 3
    assert all(sorted(order) == list(range(7)) for order in orders)


def test_an_empty_order_stays_empty():
    assert turned(list[int](), 2, 3) == []


def test_every_peer_is_pinned_to_a_version_and_ours_needs_none():
    pinned = {peer.name: bool(peer.packages) and ("==" in peer.packages[0] or "@" in peer.packages[0]) for peer in ALL}
    assert [name for name, is_pinned in pinned.items() if not is_pinned] == ["leasehold"]


def test_ours_is_the_first_of_those_measured_on_postgres():
    assert on(POSTGRES)[0].name == "leasehold"
