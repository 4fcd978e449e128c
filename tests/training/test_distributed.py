"""Two processes with half the batch each give the gradients of one process with all of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

LEAVE = """
import os
from tellapart.core.distributed import barrier
barrier()
os._exit(0)  # the work is done; tidying up would now and then abort the process
"""
SCRIPT = """
import sys
from pathlib import Path
import torch
from safetensors.torch import save_file
sys.path.insert(0, {tests!r})
from training.test_distributed import gradients
us, found = gradients(Path(sys.argv[1]), sys.argv[2])
if us.is_main:
    save_file(found, sys.argv[3])
{leave}
"""

JUDGED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from papers.test_r2m_recipes import shrunk
from tellapart.papers.r2m.recipes import R2M_FULL
from tellapart.training.settings import TrainSettings
from tellapart.training.train import train_recipe
train_recipe(shrunk(R2M_FULL), TrainSettings(data=Path(sys.argv[1]), out=Path(sys.argv[2])))
{leave}
"""

RESUMED = """
import os, sys
from pathlib import Path
import pytest
sys.path.insert(0, {tests!r})
from stopping import Stopped, stop_after
from training.test_resume import settings, small_recipe
from tellapart.core.distributed import barrier
from tellapart.training import loop
from tellapart.training.train import train_recipe
loop.LOG_EVERY = 1
pack, folder = map(Path, sys.argv[1:])
train_recipe(small_recipe(), settings(pack, folder / "whole"))
with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
    stop_after(7, patch)
    train_recipe(small_recipe(), settings(pack, folder / "stopped"))
barrier()
os._exit(0)  # as a killed run ends; tidying up would sometimes abort the process, with training half done
"""
RESUME = (
    RESUMED[: RESUMED.index("train_recipe(small")]
    + """
train_recipe(small_recipe(), settings(pack, folder / "stopped", resume=True))
"""
)


def gradients(pack_folder: Path, recipe_name: str):
    """Gradients of the first batch of a recipe, averaged over ranks the way training does it."""
    from torch.nn.parallel import DistributedDataParallel

    from tellapart.core.distributed import join_group
    from tellapart.data.batches import Batches
    from tellapart.data.feature_choice import choose_features
    from tellapart.data.pack import Pack
    from tellapart.data.sampling import draw_epoch
    from tellapart.objectives.context import Context
    from tellapart.papers.recipes import find_recipe
    from tellapart.runs.overrides import override
    from tellapart.runs.run import inputs_for
    from tellapart.training.prefetch import prefetch

    us = join_group("cpu")
    torch.manual_seed(0)
    pack = Pack(pack_folder)
    recipe = override(find_recipe(recipe_name), ["stages.0.sampling.batch=12"])
    stage = recipe.stages[0]
    store = choose_features(pack, recipe.features, None)
    batches = Batches(pack, store, stage.sampling.columns)
    inputs = inputs_for(pack.vocabulary, {"width": store.width, "rows": store.most_rows}, True)
    context = Context(pack, inputs, batches, store, torch.device("cpu"))
    objective = stage.objective.build(stage.model.build(inputs), context).double().eval()
    batch = next(iter(prefetch(batches, draw_epoch(pack, stage.sampling, (0, 0, 0)))))
    batch = _as_double(batch)
    wrapped = DistributedDataParallel(objective, find_unused_parameters=True) if us.world > 1 else objective
    wrapped(batch)["loss"].backward()
    return us, {name: p.grad for name, p in objective.named_parameters() if p.grad is not None}


def _as_double(batch):
    from dataclasses import replace

    return replace(batch, images=replace(batch.images, features=batch.images.features.double()))


def in_two_processes(script: str, folder: Path, *arguments: str) -> None:
    (folder / "script.py").write_text(script.format(tests=str(Path(__file__).parents[1]), leave=LEAVE))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(folder / "script.py"), *arguments]
    settings = {**os.environ, "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, env=settings, timeout=300, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("recipe", ["vse++", "neuraltalk2", "pos-scan"])
def test_two_processes_equal_one(tiny_pack: Path, tmp_path: Path, recipe: str) -> None:
    in_two_processes(SCRIPT, tmp_path, str(tiny_pack), recipe, str(tmp_path / "two.safetensors"))
    _, one = gradients(tiny_pack, recipe)
    two = load_file(tmp_path / "two.safetensors")
    assert one.keys() == two.keys()
    for name in one:
        torch.testing.assert_close(two[name], one[name], rtol=1e-9, atol=1e-12)
    assert max(float(gradient.abs().max()) for gradient in one.values()) > 0


def test_a_process_takes_the_gpu_of_its_number_on_its_machine(
    tiny_pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tenth process of sixteen on two machines is the second on its own: GPU 1, not 9."""
    from tellapart.core.distributed import Group
    from tellapart.papers.recipes import find_recipe
    from tellapart.training import train
    from tellapart.training.settings import TrainSettings

    asked = []

    def no_gpu(name: str) -> None:
        asked.append(name)
        raise KeyboardInterrupt

    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(train, "join_group", lambda device: Group(9, 16))
    monkeypatch.setattr(train, "usable_device", no_gpu)
    with pytest.raises(KeyboardInterrupt):
        train.train_recipe(find_recipe("vse++"), TrainSettings(tiny_pack, tmp_path / "run", device="cuda"))
    assert asked == ["cuda:1"]


def test_one_process_judges_by_loss_while_the_other_waits(tmp_path: Path) -> None:
    """R2M's losses are means over all processes; on validation data only one of them is there."""
    from tellapart.data.join import CorpusFilter, join_unpaired
    from unpaired_packs import corpus_pack, image_pack

    filters = CorpusFilter(least_count=1, held_out=0.34)
    join_unpaired(image_pack(tmp_path / "a"), corpus_pack(tmp_path / "b"), tmp_path / "c", filters=filters)
    in_two_processes(JUDGED, tmp_path, str(tmp_path / "c"), str(tmp_path / "run"))
    assert "loss_words-rebuilt" in (tmp_path / "run" / "log.jsonl").read_text()


def test_a_resumed_run_ends_as_an_uninterrupted_one(tiny_pack: Path, tmp_path: Path) -> None:
    """Each process drops out different numbers, and resumes its random state."""
    in_two_processes(RESUMED, tmp_path, str(tiny_pack), str(tmp_path))
    (left,) = (tmp_path / "stopped" / "checkpoints").iterdir()
    states = load_file(left / "state.safetensors")
    assert not torch.equal(states["random.torch"], states["random1.torch"])
    in_two_processes(RESUME, tmp_path, str(tiny_pack), str(tmp_path))
    whole, resumed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "stopped"))
    assert all(torch.equal(value, resumed[name]) for name, value in whole.items())
