"""Why each family of system calls is open to submissions, and the attacks that go through it."""

from __future__ import annotations

OPEN: dict[str, tuple[str, tuple[str, ...]]] = {
    "reading and writing": (
        "All work reads files. Landlock or file rights decide which; their size and number are bounded.",
        ("reads_hidden_files", "writes_a_huge_file", "fills_the_disk", "empties_and_locks", "writes_rubbish"),
    ),
    "looking at files": (
        "Each import opens files. Landlock or file rights decide which.",
        ("writes_elsewhere", "reads_command_lines", "opens_files_without_end", "uses_left_descriptors"),
    ),
    "names of files": (
        "Work may keep files in its folder, which is removed whole.",
        ("writes_through_links", "makes_files_without_end", "nests_folders", "leaves_what_resists", "leaves_namespaces"),
    ),
    "attributes of files": (
        "shutil copies them. They do nothing, or only to files of the call's own user.",
        ("damages_files", "empties_and_locks", "leaves_notes"),
    ),
    "descriptors": (
        "Python asks each file whether it is a terminal. Rules decide about the arguments of fcntl and ioctl.",
        ("signals_by_descriptor", "changes_flags", "changes_its_output", "closes_everything"),
    ),
    "waiting for descriptors": (
        "asyncio and selectors wait so, for descriptors of the process alone.",
        ("nests_event_loops", "drips_its_reply"),
    ),
    "descriptors of events and timers": (
        "Python offers them; they end with the process, and count as files.",
        ("opens_events_without_end",),
    ),
    "connected sockets": (
        "asyncio needs a pair, and the wire is one. No other socket can be made, nor an address be given.",
        ("sends_from_a_pair", "misuses_a_socket_pair", "passes_descriptors", "connects_to_unix_sockets"),
    ),
    "clocks": (
        "Work may measure and wait; the judge keeps its own time.",
        ("blocks_signals", "hangs_at_exit", "turns_the_clock"),
    ),
    "interval timers": (
        "Progress bars and time limits of students use them. They signal this process alone.",
        ("rings_timers", "withdraws_what_it_asks"),
    ),
    "memory": (
        "Nothing runs without. A limit counts all that is mapped, and the folder all that files hold.",
        ("maps_shared_memory", "fills_the_disk_by_mapping", "allocates_at_once", "allocates_bit_by_bit"),
    ),
    "memory policy": (
        "OpenBLAS places its buffers. Pages of other processes are a named danger.",
        ("places_memory",),
    ),
    "threads": (
        "torch, OpenCV and students' own threads, of which there may be 64. A process cannot be started.",
        ("starts_threads_without_end", "forks_once", "leaves_an_endless_list", "interrupts_processors"),
    ),
    "the process itself": (
        "Libraries ask for names, numbers and users. A rule keeps the end of the server from being missed.",
        ("forgets_its_parent", "changes_the_filter", "renames_its_process", "regains_rights"),
    ),
    "processors and limits": (
        "Libraries count processors. Those of other processes, and a longer time, are named dangers.",
        ("limits_the_grader",),
    ),
    "signals to itself": (
        "abort() and handlers. What would end or stop a process at once, or reach another, is a named danger.",
        ("kills_everything", "stops_itself", "stops_itself_by_raise", "ignores_signals", "signals_itself"),
    ),
}
