"""COCO's objects named in captions of word ids, on the device: which of 80 objects each caption names."""

from __future__ import annotations

import torch
from torch import Tensor

from tellapart.text.coco_concepts import COCO_80, COCO_SYNONYMS
from tellapart.text.concepts import ConceptDictionary, plural
from tellapart.text.vocabulary import END, PAD, Vocabulary


class ObjectWords:
    """Finds objects by single words and by pairs of words; a word within a pair does not count by itself.

    As `ConceptDictionary.coco().of_sentence`, but for pairs that overlap, which do not occur in practice.
    """

    def __init__(self, vocabulary: Vocabulary, device: torch.device | str = "cpu") -> None:
        dictionary, numbers = ConceptDictionary.coco(), {name: number for number, name in enumerate(COCO_80)}
        single = torch.full((len(vocabulary),), -1, dtype=torch.long)
        for number, word in enumerate(vocabulary.words):
            if found := dictionary.of_sentence((word,)):
                single[number] = numbers[found[0]]
        pairs: dict[int, int] = {}
        names = [*COCO_80, *(name for others in COCO_SYNONYMS.values() for name in others)]
        for words in (name.split() for name in names if len(name.split()) == 2):
            for second in {words[1], plural(words[1])}:
                found, ids = dictionary.of_sentence((words[0], second)), vocabulary.ids
                if found and words[0] in ids and second in ids:
                    pairs[ids[words[0]] * len(vocabulary) + ids[second]] = numbers[found[0]]
        codes = torch.tensor(sorted(pairs), dtype=torch.long)
        objects = torch.tensor([pairs[int(code)] for code in codes], dtype=torch.long)
        # One code that no pair of words has stands for an empty list.
        self.codes = torch.cat([codes, torch.tensor([len(vocabulary) ** 2])]).to(device)
        self.objects = torch.cat([objects, torch.tensor([-1])]).to(device)
        self.single, self.words = single.to(device), len(vocabulary)

    def __call__(self, tokens: Tensor) -> Tensor:
        """[N, 80] bool: objects named in tokens [N, T] before END or PAD."""
        inside = ((tokens == END) | (tokens == PAD)).cumsum(1) == 0
        code = tokens[:, :-1] * self.words + tokens[:, 1:]
        place = torch.searchsorted(self.codes, code).clamp(max=len(self.codes) - 1)
        paired = (self.codes[place] == code) & inside[:, 1:]  # [N, T - 1]
        taken = torch.zeros_like(inside)
        taken[:, :-1] |= paired
        taken[:, 1:] |= paired
        alone = self.single[tokens].masked_fill(taken | ~inside, -1)
        both = torch.cat([alone, self.objects[place].masked_fill(~paired, -1)], 1)  # [N, 2 T - 1]
        named = torch.zeros(len(tokens), len(COCO_80) + 1, dtype=torch.bool, device=tokens.device)
        named.scatter_(1, both.masked_fill(both < 0, len(COCO_80)), True)
        return named[:, :-1]


def untrue_objects(named: Tensor, references: Tensor) -> Tensor:
    """How many objects a caption names [N, 80] that no reference of its image names [N, 80]: [N] float."""
    return (named & ~references).sum(1).float()
