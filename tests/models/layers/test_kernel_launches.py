"""How kernels of Triton are launched, with a stand-in for it: on which GPU, and what is said if none runs."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import torch

CPU = torch.device("cpu")


class Kernel:
    """A kernel that calls a function with its arguments instead."""

    def __init__(self, launch: Callable[..., None]) -> None:
        self.launch = launch

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return self.launch


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Imports a module of kernels again, with a stand-in for Triton."""
    triton: Any = ModuleType("triton")
    triton.language = ModuleType("triton.language")
    triton.jit = lambda function=None, **options: function or (lambda decorated: decorated)
    triton.cdiv, triton.next_power_of_2 = lambda a, b: -(-a // b), lambda n: 1 << (n - 1).bit_length()
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.language", triton.language)
    loaded: list[str] = []

    def import_again(name: str) -> Any:
        monkeypatch.delitem(sys.modules, name, raising=False)
        loaded.append(name)
        return importlib.import_module(name)

    yield import_again
    for name in loaded:
        sys.modules.pop(name, None)


@pytest.fixture
def current(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """The current GPU, while a block of code has chosen one."""
    chosen: list[torch.device] = []

    @contextmanager
    def choose(device: torch.device) -> Iterator[None]:
        chosen.append(device)
        yield
        chosen.pop()

    monkeypatch.setattr(torch.cuda, "device", choose)
    return chosen


def test_a_kernel_runs_on_the_gpu_of_its_tensors(load: Callable[[str], Any], current: list[torch.device]) -> None:
    seen: list[list[torch.device]] = []
    kernel = Kernel(lambda *given, **sizes: seen.append(list(current)))
    scoring = load("tellapart.models.layers.cross_attention_kernel")
    scoring._score_kernel = kernel
    one = torch.ones(1)
    settings = 9.0, 0.0, "mean", 6.0, 1e-8
    scoring.score_kernel(one.view(1, 1), one, one.view(1, 1, 1), None, one, one, one, 1, one.view(1, 1), settings)
    attending = load("tellapart.models.captioners.additive_attention_kernel")
    attending._weights_kernel = attending._query_slope_kernel = attending._key_slope_kernel = kernel
    keys, query, weight, shares = torch.ones(2, 3, 4), torch.ones(2, 4), torch.ones(4), torch.ones(2, 3)
    attending.attention_weights(keys, query, weight, shares)
    attending.query_slopes(keys, query, weight, shares, shares)
    attending.key_slopes(keys, query[None], weight, shares[None])
    assert seen == [[CPU]] * 4


@pytest.mark.parametrize(
    ("error", "said"),
    [(RuntimeError("no compiler\nat all"), "no compiler"), (KeyError(), "KeyError"), (None, "0 instead")],
)
@pytest.mark.usefixtures("current")
def test_one_warning_says_why_no_kernel_runs(load: Callable[[str], Any], error: Exception | None, said: str) -> None:
    def fail(*given: Any, **sizes: Any) -> None:
        if error is not None:
            raise error  # else nothing is written

    scoring = load("tellapart.models.layers.cross_attention_kernel")
    scoring._score_kernel = Kernel(fail)
    with pytest.warns(UserWarning, match=f"runs on cpu .*{said}.*torch computes the same") as warned:
        assert not scoring.can_run(CPU) and not scoring.can_run(CPU)
    assert len(warned) == 1


@pytest.mark.usefixtures("current")
def test_nothing_is_said_where_kernels_run(load: Callable[[str], Any], recwarn: pytest.WarningsRecorder) -> None:
    scoring = load("tellapart.models.layers.cross_attention_kernel")
    scoring._score_kernel = Kernel(lambda **given: given["scores"].fill_(1))
    assert scoring.can_run(CPU) and not recwarn.list
