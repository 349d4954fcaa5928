# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of preset=auto: what it decides for pages of different histories, by the counters of their region."""
from moves import meet
from scene import actors, expect, living, region, sums

PAGE = 4096
AUTO = "preset=auto"
MOVE_AFTER = 3		# the module's own default, in versions of one writer
AGAIN_AFTER = 2		# notices between which a page was used
TURNS = 12
WHOLE = 0x0101010101010101	# words that differ by it differ in every byte
DIRECT_PAGES = 160	# more than half of a chunk: only then it is registered
DIRECT_TURNS = 20
PLACES = (3, 40, 41, 119)	# pages that are no stream


class _Since:
    """How a region's counters, over all nodes, have grown."""

    def __init__(self, c, name):
        self.c, self.name, self.before = c, name, sums(c, name)

    def __getitem__(self, kind):
        return sums(self.c, self.name)[kind] - self.before[kind]

    def want(self, **kinds):
        """So much they must have grown by."""
        for kind, value in kinds.items():
            expect(self[kind] == value, f"{kind} grew by {self[kind]}, not {value}")


def auto_exclusive_until_another_asks(c):
    """Pages of one node cost it nothing, wherever they are used next; then they are told of."""
    with region(c, "1M", AUTO) as name, actors(name, *living(c)) as group:
        alone, other = group[0], group[-1]

        def write(value):
            for place in PLACES:
                alone.want(0, "write", place * PAGE, value)
            alone.want(0, "release")

        def read(value):
            other.want(0, "acquire")
            for place in PLACES:
                other.read(place * PAGE, value)

        pages, seen = len(PLACES), _Since(c, name)
        for value in range(1, TURNS):
            write(value)
        seen.want(excl_enters=pages, excl_breaks=0, diffs=0, twins=0, invalidations=0, page_transfers=0)
        seen = _Since(c, name)
        read(TURNS - 1)
        seen.want(excl_breaks=pages, fetches_served=pages)
        write(TURNS)
        read(TURNS)
        seen.want(excl_enters=0, invalidations=pages, fetches_served=2 * pages)


def auto_moves_to_the_only_writer(c):
    """After a barrier of all, not before it has written for a while; it writes without twins and diffs then."""
    pages = 10
    with region(c, "1M", AUTO) as name, actors(name, *living(c)) as group:
        home, writer, reader = group[0], group[-1], group[len(group) // 2]

        def turn(number):
            writer.want(0, "fill", 8, pages, PAGE, 1000 * number)
            meet(group)
            reader.want(0, "verify", 8, pages, PAGE, 1000 * number)
            meet(group)

        home.want(0, "fill", 0, pages, PAGE, 1)
        meet(group)
        reader.want(0, "verify", 0, pages, PAGE, 1)
        seen = _Since(c, name)
        for number in range(1, MOVE_AFTER):
            turn(number)
        seen.want(migration_attempts=0, migrations=0)
        expect(seen["diffs"] >= pages, "it writes without diffs before it is home")
        for number in range(MOVE_AFTER, TURNS):
            turn(number)
        expect(seen["migrations"] == pages and seen["migration_attempts"] >= pages,
               f"{seen['migrations']} of {pages} homes moved, {seen['migration_attempts']} were to")
        seen = _Since(c, name)
        turn(TURNS)
        seen.want(diffs=0, twins=0, migrations=0)
        for a in group:
            a.want(0, "verify", 0, pages, PAGE, 1)


def auto_stays_where_writers_take_turns(c):
    """Versions of another node start the count anew."""
    pages = 10
    with region(c, "1M", AUTO) as name, actors(name, *living(c)) as group:
        home, *writers = group
        home.want(0, "fill", 0, pages, PAGE, 1)
        meet(group)
        seen = _Since(c, name)
        for turn in range(TURNS):
            writers[turn % len(writers)].want(0, "fill", 8, pages, PAGE, turn)
            meet(group)
            home.want(0, "verify", 8, pages, PAGE, turn)
            meet(group)
        expect(seen["diffs"] > 0, "nobody made a diff")
        seen.want(migration_attempts=0, migrations=0)


def auto_asks_again_with_the_notice(c):
    """What was used between two notices each is asked for by the acquire; what is not any more, is not."""
    with region(c, "1M", AUTO) as name, actors(name, *living(c)) as (home, reader, *_):
        def turn(value, used=True):
            for place in PLACES:
                home.want(0, "write", place * PAGE, value)
            home.want(0, "release")
            reader.want(0, "acquire")
            for place in PLACES if used else ():
                reader.read(place * PAGE, value)

        seen = _Since(c, name)
        # The first turn's pages were not here.
        for value in range(1, 1 + AGAIN_AFTER):
            turn(value)
        seen.want(prefetch_issued=0)
        for value in range(1 + AGAIN_AFTER, 1 + TURNS):
            turn(value)
        asked = (TURNS - AGAIN_AFTER) * len(PLACES)
        seen.want(prefetch_issued=asked, prefetch_hits=asked)
        for value in range(1 + TURNS, 5 + TURNS):
            turn(value, used=False)
        seen.want(prefetch_issued=asked + len(PLACES), prefetch_hits=asked)


def auto_writes_whole_pages_directly(c):
    """Pages that changed as a whole into the home's frame, as soon as that is registered; a few bytes with others."""
    words = DIRECT_PAGES * PAGE // 8
    with region(c, "1M", AUTO) as name, actors(name, *living(c)) as (home, writer, *_):
        def turn(count, step, value):
            writer.want(0, "fill", 0, count, step, value)
            writer.want(0, "release")
            home.want(0, "acquire")
            home.want(0, "verify", 0, count, step, value)

        home.want(0, "fill", 0, words, 8, 0)
        home.want(0, "release")
        writer.want(0, "acquire")
        seen = _Since(c, name)
        for number in range(1, DIRECT_TURNS):
            turn(words, 8, number * WHOLE)
            if seen["direct_pages"] >= DIRECT_PAGES:
                break
        expect(seen["direct_pages"] >= DIRECT_PAGES,
               f"{seen['direct_pages']} pages were written directly in {DIRECT_TURNS} turns")
        expect(seen["direct_runs"] == seen["direct_pages"], "a page that changed as a whole has one run")
        seen = _Since(c, name)
        turn(DIRECT_PAGES, PAGE, 7)
        seen.want(direct_pages=0, diffs=DIRECT_PAGES, diffs_applied=DIRECT_PAGES)
