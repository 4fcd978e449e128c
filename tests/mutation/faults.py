"""`PYTHONPATH=tests:src python -m mutation.faults`: brings back faults that were fixed, and runs the tests that notice.

Each line names a fault, the module and the text that fixes it, the text that brings the fault back, and its tests. A
fault that survives has lost its test.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from mutation.judge import KILLED, OneModule, judge
from mutation.mapping import ROOT

UNSUPERVISED = "tests/objectives/test_unsupervised.py"
ORDER = f"{UNSUPERVISED}::test_training_reads_concepts_in_random_order"
SHUFFLED = "shuffled(concepts) if self.training else concepts"


@dataclass(frozen=True)
class Fault:
    """A fault that was fixed."""

    about: str
    module: str
    fixed: str
    faulty: str
    test: str

    def changed(self) -> OneModule:
        """The module with the fault."""
        path = ROOT / "src" / (self.module.replace(".", "/") + ".py")
        text = path.read_text()
        if text.count(self.fixed) != 1:
            raise ValueError(f"{self.module} has {text.count(self.fixed)} times: {self.fixed}")
        return OneModule(self.module, path, text.replace(self.fixed, self.faulty))


def _of(about: str, module: str, fixed: str, faulty: str, test: str) -> Fault:
    return Fault(about, f"tellapart.{module}", fixed, faulty, test)


FAULTS = (
    _of(
        "ITD takes the mean over words",
        "objectives.input_target",
        "real.sum() if self.per_token else len(words)",
        "real.sum()",
        "tests/objectives/test_input_target.py",
    ),
    _of(
        "L_rec is a mean next to summed hinges",
        "objectives.extra_loss",
        "global_count(pairs, extra.device) if self.summed else 1",
        "1",
        "tests/objectives/test_extra_loss_weight.py",
    ),
    _of(
        "heads that start alike start apart",
        "models.layers.convse_heads",
        "text.load_state_dict(image.state_dict())",
        "pass",
        "tests/models/matchers/test_vse.py",
    ),
    _of(
        "the released triplet loss over the wrong axis",
        "losses.unmasked_hinge",
        ".amax(0)  # [B], over images",
        ".amax(1)",
        "tests/losses/test_unmasked_hinge.py",
    ),
    _of(
        "every mention of a concept is paid",
        "objectives.concept_gan",
        "hits = hits & (hits.cumsum(1) == 1)",
        "pass",
        f"{UNSUPERVISED}::test_a_concept_is_paid_at_its_first_mention",
    ),
    _of(
        "ending early escapes the critic",
        "objectives.concept_gan",
        "(sampled if self.config.equal_lengths else own) != PAD",
        "own != PAD",
        f"{UNSUPERVISED}::test_ending_early_is_no_escape_from_the_critic",
    ),
    _of(
        "epochs are selected by the reward per word",
        "objectives.concept_gan",
        "loss = -(human + share + distance.mean())",
        "loss = -(words.sum() + distance.sum()) / count",
        f"{UNSUPERVISED}::test_selection_does_not_favour_one_word",
    ),
    _of(
        "the critic never learns alone",
        "objectives.concept_gan",
        "int(self.steps) > self.config.critic_first",
        "int(self.steps) > -1",
        f"{UNSUPERVISED}::test_the_critic_learns_first",
    ),
    _of(
        "v is dropped out",
        "models.captioners.r2m",
        "config.dropout if config.vector_dropout else 0.0",
        "config.dropout",
        f"{UNSUPERVISED}::test_v_is_not_dropped_out",
    ),
    _of(
        "images are projected at random",
        "objectives.visual_alignment",
        "project_images(self.image_projection,",
        "project_images('random',",
        f"{UNSUPERVISED}::test_a_fitted_projection_puts_images_near_their_concepts",
    ),
    _of(
        "Eq. 10 is always a mean",
        "objectives.concepts_to_sentence",
        'if config.words not in ("mean", "sum"):',
        'from dataclasses import replace\n        if config.words == "sum":\n'
        '            config = replace(config, words="mean")\n        elif config.words != "mean":',
        f"{UNSUPERVISED}::test_equation_10_is_a_sum_over_a_sentences_words",
    ),
    _of(
        "join counts words at 5",
        "data.join",
        'int(corpus.manifest.get("rules", {}).get("min_count", TextRules.min_count))',
        "5",
        "tests/data/test_join.py",
    ),
    _of(
        "self-retrieval counts NaN as perfect",
        "reproduce.caption_measures",
        "self_retrieval_ranks(scores, asked.to(scores.device)).cpu().numpy()",
        "(scores > scores.gather(1, asked[:, None])).sum(1).cpu().numpy()",
        "tests/reproduce/test_caption_tables.py",
    ),
    _of(
        "runs of one seed are compared as independent",
        "reproduce.comparisons",
        "    if seeds:\n",
        "    if not first:\n",
        "tests/reproduce/test_comparisons.py",
    ),
    _of(
        "intervals over images forget the seeds",
        "reproduce.comparisons",
        "interval_of(drawn + noise)",
        "interval_of(drawn + 0 * noise)",
        "tests/reproduce/test_comparisons.py",
    ),
    _of(
        "the control of CL takes fewer steps",
        "papers.contrastive_captioning.recipes",
        'further_stage("continued", "aa", Likelihood())',
        'replace(further_stage("continued", "aa", Likelihood()), epochs=1)',
        "tests/papers/test_cl_control.py",
    ),
    _of(
        "mismatched captions meet another image",
        "objectives.reference_contrast",
        "slots % len(batch.images)",
        "(slots + 1) % len(batch.images)",
        "tests/objectives/test_reference_contrast.py",
    ),
    _of(
        "AdaptiveAttention without its sentinel, word by word",
        "models.captioners.adaptive_attention",
        "self._attention_inputs(hidden, gate * quick_tanh(cell))",
        "self._attention_inputs(hidden, 0 * gate * quick_tanh(cell))",
        "tests/models/captioners/test_captioner_equations.py",
    ),
    _of(
        "AdaptiveAttention without its sentinel, whole captions",
        "models.captioners.adaptive_attention",
        "sentinel = gate * output / output_gate.clamp(min=tiny)",
        "sentinel = 0 * gate * output",
        "tests/models/captioners/test_captioner_equations.py",
    ),
    _of(
        "the GAN's policy learns the opposite",
        "objectives.adversarial",
        "total = self.policy.total(",
        "total = -self.policy.total(",
        "tests/objectives/test_adversarial.py",
    ),
    _of(
        "the GAN's evaluator swaps real and fake",
        "objectives.adversarial",
        "functional.softplus(-real), functional.softplus(fake)",
        "functional.softplus(real), functional.softplus(-fake)",
        "tests/objectives/test_adversarial.py",
    ),
    _of(
        "UC-GAN's critic swaps human and machine",
        "objectives.concept_gan",
        "functional.softplus(machine).mean() + functional.softplus(-person).mean()",
        "functional.softplus(-machine).mean() + functional.softplus(person).mean()",
        f"{UNSUPERVISED}::test_the_critic_tells_people_from_machines",
    ),
    *(
        _of(f"concepts keep their order in {name}", f"objectives.{name}", SHUFFLED, "concepts", ORDER)
        for name in ("concepts_to_sentence", "visual_alignment", "concept_gan")
    ),
    _of(
        "SCAN's warm-up has no steps",
        "papers.ours.scan_recipes",
        "replace(stage.schedule, warmup_steps=WARMUP_STEPS)",
        "stage.schedule",
        "tests/papers/test_scan_starts.py",
    ),
    _of(
        "recurrent layers have no gradient in eval mode on a GPU",
        "models.layers.eval_with_gradients",
        "layer.train()",
        "layer.eval()",
        "tests/models/layers/test_eval_with_gradients.py",
    ),
    _of(
        "a text of CLIP ends at its first word that is no piece",
        "text.model_tokenizer",
        'self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]',
        '[self.tokenizer.convert_tokens_to_ids([f"{word}</w>" for word in text.split()]) for text in texts]',
        "tests/hub/test_matchers.py::test_a_text_does_not_end_at_a_rare_word",
    ),
    _of(
        "a run trained on pixels sees no images",
        "runs.run_features",
        'data.get("features") or data.get("vision")',
        'data.get("features")',
        "tests/training/test_on_pixels.py::test_runs_open_everywhere_wherever_they_are",
    ),
    _of(
        "settings of an image processor are read by hand",
        "features.backbones",
        "return self.processor.square(source)",
        'return read_square(source, self.preprocessing, "crop")',
        "tests/hub/test_image_processors.py::test_a_backbone_sees_what_its_processor_makes",
    ),
)


def main() -> None:
    """Print one line per fault; the exit status is the number of those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only faults whose description has this text")
    parser.add_argument("--limit", type=float, default=300, help="seconds for the tests of one fault")
    options = parser.parse_args()
    import torch  # once, before the processes are forked

    torch.set_num_threads(1)
    unnoticed = 0
    for fault in FAULTS:
        if options.only in fault.about:
            verdict = judge(fault.changed(), [fault.test], options.limit)
            unnoticed += verdict != KILLED
            print(f"{'noticed' if verdict == KILLED else verdict:>9}  {fault.about} ({fault.test})", flush=True)
    sys.exit(unnoticed)


if __name__ == "__main__":
    main()
