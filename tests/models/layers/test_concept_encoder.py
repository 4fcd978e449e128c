"""The concept encoder: normalised, blind to padding, and safe where an image has no concept."""

import torch
from torch import nn

from tellapart.models.layers.concept_encoder import ConceptEncoder, shuffled


def encode(encoder: ConceptEncoder, table: nn.Embedding, concepts: torch.Tensor) -> torch.Tensor:
    return encoder(concepts, table(concepts))


def test_vectors_have_length_one_and_padding_changes_nothing() -> None:
    torch.manual_seed(0)
    encoder, table = ConceptEncoder(8).eval(), nn.Embedding(20, 8, padding_idx=0)
    short = torch.tensor([[4, 5], [6, 0]])
    long = torch.tensor([[4, 5, 0, 0], [6, 0, 0, 0]])
    vectors = encode(encoder, table, short)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(2))
    assert torch.allclose(vectors, encode(encoder, table, long), atol=1e-6)
    _, (last, _) = encoder.lstm(table(torch.tensor([[4, 5]])))
    assert torch.allclose(vectors[0], nn.functional.normalize(last[0, 0], dim=0), atol=1e-6)


def test_no_concept_is_the_zero_vector_with_finite_gradients() -> None:
    encoder, table = ConceptEncoder(8), nn.Embedding(20, 8, padding_idx=0)
    vectors = encode(encoder, table, torch.tensor([[0, 0], [3, 0]]))
    assert not vectors[0].any()
    vectors.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in encoder.parameters() if parameter.grad is not None)
    assert encode(encoder, table, torch.zeros(2, 0, dtype=torch.long)).shape == (2, 8)
    assert encode(encoder, table, torch.zeros(0, 3, dtype=torch.long)).shape == (0, 8)


def test_shuffling_keeps_concepts_and_leaves_padding_last() -> None:
    torch.manual_seed(0)
    concepts = torch.tensor([[7, 8, 9, 0, 0]] * 200)
    mixed = shuffled(concepts)
    assert (mixed[:, 3:] == 0).all()
    assert (mixed[:, :3].sort(1).values == torch.tensor([7, 8, 9])).all()
    assert len({tuple(row) for row in mixed[:, :3].tolist()}) == 6  # all orders occur
