"""Tiny models of every family of `transformers`, with random weights and tokenizers and processors made here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

WORDS = ("a", "red", "green", "blue", "white", "ball", "on", "the", "left", "middle", "right", "is", "dog", "cat")
SIZES = {"hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 2}
SIDE, PATCH = 32, 8
VISION = {**SIZES, "image_size": SIDE, "patch_size": PATCH}


def transformers() -> Any:
    import transformers

    return transformers


def save_processor(folder: Path, kind: str = "CLIPImageProcessor", **changes: Any) -> None:
    """An image processor that resizes the short side to 36 and crops 32 pixels."""
    settings = {
        "image_processor_type": kind,
        "do_resize": True, "size": {"shortest_edge": 36}, "resample": 3,
        "do_center_crop": True, "crop_size": {"height": SIDE, "width": SIDE},
        "do_rescale": True, "rescale_factor": 1 / 255,
        "do_normalize": True, "image_mean": [0.48, 0.46, 0.41], "image_std": [0.27, 0.26, 0.28],
        "do_convert_rgb": True, **changes,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))


def save_clip_tokenizer(folder: Path) -> int:
    """Byte pairs as CLIP has them, whose unknown piece is the end piece; returns how many pieces there are."""
    folder.mkdir(parents=True, exist_ok=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,"
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({piece: row for row, piece in enumerate(pieces)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    made = transformers().CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    made.save_pretrained(str(folder))
    return len(pieces)


def save_word_tokenizer(folder: Path, kind: str = "bert", extra: tuple[str, ...] = ()) -> dict[str, int]:
    """Whole words and letters: [CLS] … [SEP] for bert, … </s> for siglip, nothing added for gpt; returns the pieces."""
    import tokenizers

    special = {
        "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[DEC]"],
        "siglip": ["<pad>", "</s>", "<unk>"],
        "gpt": ["<|endoftext|>", "<unk>"],
    }[kind]
    pieces = {word: row for row, word in enumerate([*special, *extra, *WORDS, *"bcdefghijklmnopqrstuvwxyz.,"])}
    unknown = {"bert": "[UNK]", "siglip": "<unk>", "gpt": "<unk>"}[kind]
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(pieces, unk_token=unknown, continuing_subword_prefix=""))
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    names: dict[str, Any] = {"unk_token": unknown}
    if kind == "bert":
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        names |= {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "bos_token": "[DEC]"}
    elif kind == "siglip":
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="$A </s>", pair="$A $B </s>", special_tokens=[("</s>", 1)]
        )
        names |= {"pad_token": "<pad>", "eos_token": "</s>"}
    else:
        names |= {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}
    if extra:
        names["additional_special_tokens"] = list(extra)
    transformers().PreTrainedTokenizerFast(tokenizer_object=made, **names).save_pretrained(str(folder))
    return pieces


def _save(model: Any, folder: Path) -> Path:
    """Random weights that are large enough for outputs of different inputs to differ."""
    transformers().utils.logging.disable_progress_bar()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.25, generator=generator)
    model.eval().save_pretrained(str(folder))
    return folder


def clip(folder: Path) -> Path:
    t, pieces = transformers(), save_clip_tokenizer(folder)
    save_processor(folder)
    text = {**SIZES, "vocab_size": pieces, "max_position_embeddings": 40, "bos_token_id": pieces - 2,
            "eos_token_id": pieces - 1, "pad_token_id": pieces - 1}  # fmt: skip
    config = t.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=12)
    return _save(t.CLIPModel(config), folder)


def sentence_transformers_clip(folder: Path) -> Path:
    clip(folder / "0_CLIPModel")
    modules = [{"idx": 0, "name": "0", "path": "0_CLIPModel", "type": "sentence_transformers.models.CLIPModel"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


def siglip(folder: Path) -> Path:
    t, pieces = transformers(), save_word_tokenizer(folder, "siglip")
    save_processor(folder, "SiglipImageProcessor", size={"height": SIDE, "width": SIDE}, do_center_crop=False,
                   image_mean=[0.5] * 3, image_std=[0.5] * 3)  # fmt: skip
    text = {**SIZES, "vocab_size": len(pieces), "max_position_embeddings": 16, "projection_size": 16, "pad_token_id": 0,
            "eos_token_id": 1, "bos_token_id": 1}  # fmt: skip
    return _save(t.SiglipModel(t.SiglipConfig(text_config=text, vision_config=VISION)), folder)


def siglip2(folder: Path) -> Path:
    t, pieces = transformers(), save_word_tokenizer(folder, "siglip")
    settings = {"image_processor_type": "Siglip2ImageProcessor", "patch_size": PATCH, "max_num_patches": 16,
                "do_resize": True, "resample": 2, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
                "image_mean": [0.5] * 3, "image_std": [0.5] * 3}  # fmt: skip
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    text = {**SIZES, "vocab_size": len(pieces), "max_position_embeddings": 16, "projection_size": 16, "pad_token_id": 0,
            "eos_token_id": 1, "bos_token_id": 1}  # fmt: skip
    vision = {**SIZES, "patch_size": PATCH, "num_patches": 16}
    return _save(t.Siglip2Model(t.Siglip2Config(text_config=text, vision_config=vision)), folder)


def align(folder: Path) -> Path:
    t, pieces = transformers(), save_word_tokenizer(folder)
    save_processor(folder, "EfficientNetImageProcessor", size={"height": SIDE, "width": SIDE}, do_center_crop=False,
                   rescale_factor=1 / 127.5, rescale_offset=True, do_normalize=False, include_top=False)  # fmt: skip
    vision = {
        "image_size": SIDE, "width_coefficient": 1.0, "depth_coefficient": 1.0, "in_channels": [32, 8],
        "out_channels": [8, 16], "kernel_sizes": [3, 3], "strides": [1, 2], "num_block_repeats": [1, 1],
        "expand_ratios": [1, 2], "depthwise_padding": [], "hidden_dim": 16, "depth_divisor": 4,
    }  # fmt: skip
    text = {**SIZES, "vocab_size": len(pieces), "max_position_embeddings": 40}
    return _save(t.AlignModel(t.AlignConfig(text_config=text, vision_config=vision, projection_dim=16)), folder)


def chinese_clip(folder: Path) -> Path:
    t, pieces = transformers(), save_word_tokenizer(folder)
    save_processor(folder, "ChineseCLIPImageProcessor", size={"height": SIDE, "width": SIDE}, do_center_crop=False)
    text = {**SIZES, "vocab_size": len(pieces), "max_position_embeddings": 40}
    config = t.ChineseCLIPConfig(text_config=text, vision_config=VISION, projection_dim=12)
    return _save(t.ChineseCLIPModel(config), folder)


def blip(folder: Path) -> Path:
    t, pieces = transformers(), save_word_tokenizer(folder)
    save_processor(folder, "BlipImageProcessor", size={"height": SIDE, "width": SIDE}, do_center_crop=False)
    text = {**SIZES, "vocab_size": len(pieces), "max_position_embeddings": 40, "encoder_hidden_size": 16,
            "bos_token_id": pieces["[DEC]"], "sep_token_id": pieces["[SEP]"], "pad_token_id": 0, "eos_token_id": 3,
            "is_decoder": True}  # fmt: skip
    config = t.BlipConfig(text_config=text, vision_config=VISION, projection_dim=12)
    return _save(t.BlipForConditionalGeneration(config), folder)


def git(folder: Path) -> Path:
    t, pieces = transformers(), save_word_tokenizer(folder)
    save_processor(folder)
    config = t.GitConfig(
        vision_config=VISION, vocab_size=len(pieces), **SIZES, max_position_embeddings=40, bos_token_id=2,
        eos_token_id=3, pad_token_id=0,
    )  # fmt: skip
    return _save(t.GitForCausalLM(config), folder)


def vit_gpt2(folder: Path) -> Path:
    t, pieces = transformers(), save_word_tokenizer(folder, "gpt")
    save_processor(folder, "ViTImageProcessor", size={"height": SIDE, "width": SIDE}, do_center_crop=False)
    decoder = t.GPT2Config(vocab_size=len(pieces), n_embd=12, n_layer=1, n_head=2, n_positions=40, bos_token_id=0,
                           eos_token_id=0, add_cross_attention=True, is_decoder=True)  # fmt: skip
    config = t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(t.ViTConfig(**VISION), decoder)
    config.decoder_start_token_id, config.eos_token_id, config.pad_token_id = 0, 0, 0
    return _save(t.VisionEncoderDecoderModel(config), folder)


def llava(folder: Path) -> Path:
    t, pieces = transformers(), save_word_tokenizer(folder, "gpt", extra=("<image>",))
    text = t.LlamaConfig(vocab_size=len(pieces), **SIZES, num_key_value_heads=2, max_position_embeddings=128,
                         bos_token_id=0, eos_token_id=0, pad_token_id=0)  # fmt: skip
    image = pieces["<image>"]
    config = t.LlavaConfig(vision_config=t.CLIPVisionConfig(**VISION), text_config=text, image_token_index=image,
                           image_token_id=image, vision_feature_layer=-1)  # fmt: skip
    _save(t.LlavaForConditionalGeneration(config), folder)
    save_processor(folder)
    template = (
        "{% for m in messages %}{% for c in m.content %}{% if c.type == 'image' %}<image>"
        "{% else %} {{ c.text }}{% endif %}{% endfor %}{% endfor %}"
    )
    processor = t.LlavaProcessor(
        t.AutoImageProcessor.from_pretrained(str(folder)), t.AutoTokenizer.from_pretrained(str(folder)),
        patch_size=PATCH, vision_feature_select_strategy="default", image_token="<image>", chat_template=template,
        num_additional_image_tokens=1,
    )  # fmt: skip
    processor.save_pretrained(str(folder))
    return folder


def idefics3(folder: Path) -> Path:
    """A chat model whose processor gives several squares per image, with masks."""
    special = ("<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>")
    t, pieces = transformers(), save_word_tokenizer(folder, "gpt", extra=special)
    text = {**SIZES, "model_type": "llama", "vocab_size": len(pieces), "num_key_value_heads": 2, "bos_token_id": 0,
            "eos_token_id": 0, "pad_token_id": 0, "max_position_embeddings": 256}  # fmt: skip
    config = t.Idefics3Config(text_config=text, vision_config=VISION, image_token_id=pieces["<image>"], scale_factor=2,
                              pad_token_id=0)  # fmt: skip
    _save(t.Idefics3ForConditionalGeneration(config), folder)
    sizes = {"size": {"longest_edge": SIDE}, "max_image_size": {"longest_edge": SIDE}, "do_image_splitting": False}
    images = getattr(t, "Idefics3ImageProcessorPil", None) or t.Idefics3ImageProcessor
    template = (
        "{% for m in messages %}{% for c in m.content %}{% if c.type == 'image' %}<image>"
        "{% else %} {{ c.text }}{% endif %}{% endfor %}{% endfor %}"
    )
    tokenizer = t.AutoTokenizer.from_pretrained(str(folder))
    t.Idefics3Processor(images(**sizes), tokenizer, image_seq_len=4, chat_template=template).save_pretrained(
        str(folder)
    )
    return folder


def backbone(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        t = transformers()
        save_processor(folder, "BitImageProcessor" if name == "dinov2" else "ViTImageProcessor")
        made = {
            "vit": lambda: t.ViTModel(t.ViTConfig(**VISION)),
            "dinov2": lambda: t.Dinov2Model(t.Dinov2Config(**VISION, mlp_ratio=2)),
            "convnext": lambda: t.ConvNextModel(t.ConvNextConfig(depths=[1, 1], hidden_sizes=[8, 12], num_stages=2)),
            "resnet": lambda: t.ResNetModel(
                t.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic")
            ),
            "swin": lambda: t.SwinModel(
                t.SwinConfig(image_size=SIDE, patch_size=4, embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=4)
            ),
        }[name]()
        return _save(made, folder)

    return make


MATCHERS = {
    "clip": clip, "siglip": siglip, "siglip2": siglip2, "align": align, "chinese_clip": chinese_clip,
    "sentence_transformers": sentence_transformers_clip,
}  # fmt: skip
CAPTIONERS = {"blip": blip, "git": git, "vit_gpt2": vit_gpt2}
CHAT = {"llava": llava, "idefics3": idefics3}
BACKBONES = {name: backbone(name) for name in ("vit", "dinov2", "convnext", "resnet", "swin")}
ALL = {**MATCHERS, **CAPTIONERS, **CHAT, **BACKBONES}
