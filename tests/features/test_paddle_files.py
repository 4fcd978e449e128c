"""Files of Paddle's inference models: what is written is read, and broken files are rejected with their fault."""

from contextlib import suppress
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paddle_model import GraphWriter, field, stored_tensor, tensor_description, varint
from tellapart.core.errors import InputError
from tellapart.features import paddle_files
from tellapart.features.paddle_files import Program, read_program, read_weights
from tellapart.features.protobuf_messages import message


def one_layer(folder: Path) -> tuple[GraphWriter, Program]:
    graph = GraphWriter()
    graph.norm(graph.convolution("x", 3, 4, 3), 4)
    graph.save(folder)
    return graph, read_program(folder / "inference.pdmodel")


def test_a_written_graph_and_its_weights_are_read(tmp_path: Path) -> None:
    graph, program = one_layer(tmp_path)
    assert [operation.kind for operation in program.operations] == ["feed", "conv2d", "batch_norm"]
    assert program.operations[1].inputs == {"Input": ["x"], "Filter": ["conv2d_0.w_0"]}
    assert program.weights["conv2d_0.w_0"] == (4, 3, 3, 3) and len(program.weights) == 5  # `feed` is no weight
    weights = read_weights(tmp_path / "inference.pdiparams", program.weights)
    assert list(weights) == sorted(graph.weights)
    for name, value in graph.weights.items():
        assert torch.equal(weights[name], value), name


@given(st.lists(st.tuples(st.integers(1, 2**29 - 1), st.integers(0, 2**64 - 1) | st.binary(max_size=300)), max_size=8))
def test_messages_are_read_as_they_were_written(fields: list[tuple[int, int | bytes]]) -> None:
    expected: dict[int, list[int | bytes]] = {}
    for number, value in fields:
        expected.setdefault(number, []).append(value)
    assert message(b"".join(field(number, value) for number, value in fields)) == expected


@given(st.binary(max_size=60))
def test_arbitrary_bytes_give_fields_or_a_value_error(data: bytes) -> None:
    found: dict[int, list[int | bytes]] = {}
    with suppress(ValueError):
        found = message(data)
    assert all(number >= 0 and values for number, values in found.items())


DESCRIBED = tensor_description((2,))
GOOD = stored_tensor(torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "w: it ends 20 bytes early"),
        (GOOD[:-1], "w: it ends 1 bytes early"),
        (GOOD + b"abc", "3 bytes follow its last tensor"),
        (b"\x01" + GOOD[1:], "version 1.0 with 0 levels"),
        (GOOD[:4] + b"\xff" * 8 + GOOD[12:], "with 18446744073709551615 levels"),
        (GOOD[:16] + b"\xff\xff\xff\x7f" + GOOD[20:], "a description of 2147483647 bytes"),
        (GOOD[:16] + b"\xff\xff\xff\xff" + GOOD[20:], "a description of -1 bytes"),
        (GOOD.replace(DESCRIBED, tensor_description((2,), kind=6)), "its values are not float32"),
        (GOOD.replace(DESCRIBED, tensor_description((3,))), r"its shape is \[3\], and in the graph \[2\]"),
    ],
)
def test_broken_weights_are_rejected_with_the_fault(tmp_path: Path, data: bytes, fault: str) -> None:
    path = tmp_path / "inference.pdiparams"
    path.write_bytes(GOOD)
    assert read_weights(path, {"w": (2,)})["w"].tolist() == [1.0, 2.0]
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"inference\.pdiparams is not a file of .*{fault}.*download it again"):
        read_weights(path, {"w": (2,)})


def test_a_shape_larger_than_the_file_allocates_nothing(tmp_path: Path) -> None:
    described = tensor_description((2**31 - 1, 2**31 - 1))
    path = tmp_path / "inference.pdiparams"
    path.write_bytes(bytes(16) + len(described).to_bytes(4, "little") + described)
    with pytest.raises(InputError, match="bytes early"):
        read_weights(path, {"w": (2**31 - 1, 2**31 - 1)})


def variable(kind: bytes) -> bytes:
    return field(1, field(3, field(1, "w") + field(2, kind) + field(3, 1)))


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "0 blocks, not one"),
        (field(1, b"") * 2, "2 blocks, not one"),
        (field(1, 5), "a number where text or a message belongs"),
        (b"\x0a\x7f", "it ends 127 bytes early"),
        (b"\x80" * 11, "a number of more than ten bytes"),
        (varint(1 << 3 | 3), "a field of the unknown type 3"),
        (field(1, field(4, b"")), "field 3 is missing"),
        (field(1, field(4, field(3, b"\xff"))), "decode"),
        (variable(field(1, b"7")), "field 1 is not a number"),
        (variable(field(1, 7) + field(3, field(1, tensor_description((-1, 3))))), "a weight without a fixed shape"),
    ],
)
def test_broken_graphs_are_rejected_with_the_fault(tmp_path: Path, data: bytes, fault: str) -> None:
    path = tmp_path / "inference.pdmodel"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"inference\.pdmodel is not a file of .*{fault}"):
        read_program(path)


def test_missing_and_too_large_files_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_program(tmp_path / "inference.pdmodel")
    (tmp_path / "inference.pdmodel").write_bytes(bytes(2**20 + 1))
    monkeypatch.setattr(paddle_files, "LARGEST_GRAPH", 2**20)
    with pytest.raises(InputError, match="more than 1 MB"):
        read_program(tmp_path / "inference.pdmodel")
