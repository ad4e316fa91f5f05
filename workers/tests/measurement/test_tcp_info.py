"""What the kernel tells of a connection, read from its bytes."""

import socket
import struct

from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.probe.tcp_info import disorder, tcp_state


def test_a_real_connection_is_read_whole() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
        listener.accept()[0] as server,
    ):
        server.sendall(b"x" * 1000)
        assert client.recv(1000, socket.MSG_WAITALL) == b"x" * 1000
        state = tcp_state(client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256))
    assert state is not None
    assert state.received_bytes == 1000
    assert state.rtt_us is not None
    assert state.min_rtt_us is not None
    assert state.min_rtt_us <= state.rtt_us
    assert (state.total_retransmits, state.out_of_order_packets) == (0, 0)
    assert state.data_segments_in == 1
    assert state.snd_cwnd
    assert state.adv_mss_bytes


def test_an_old_kernel_says_less() -> None:
    words = [0] * 24
    words[15], words[23] = 1234, 2
    state = tcp_state(bytes(8) + struct.pack("=24I", *words))
    assert state is not None
    assert (state.rtt_us, state.total_retransmits) == (1234, 2)
    assert state.min_rtt_us is None
    assert state.out_of_order_packets is None


@given(st.binary(max_size=300))
def test_no_bytes_break_it(info: bytes) -> None:
    state = tcp_state(info)
    assert (state is None) == (len(info) < 104)


@given(st.binary(max_size=300))
def test_who_reads_in_haste_reads_the_same(info: bytes) -> None:
    state = tcp_state(info)
    told = (0, 0) if state is None else (state.out_of_order_packets or 0, state.min_rtt_us or 0)
    assert disorder(info) == told
