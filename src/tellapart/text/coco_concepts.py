"""The 80 object names of COCO in the order of their classes, and their synonyms."""

from __future__ import annotations

# fmt: off
COCO_80 = (
    "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic light",
    "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow",
    "elephant", "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee",
    "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard",
    "tennis racket", "bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple",
    "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch",
    "potted plant", "bed", "dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard",
    "cell phone", "microwave", "oven", "toaster", "sink", "refrigerator", "book", "clock", "vase",
    "scissors", "teddy bear", "hair drier", "toothbrush",
)

COCO_SYNONYMS: dict[str, tuple[str, ...]] = {
    "person": (
        "man", "woman", "boy", "girl", "child", "kid", "baby", "toddler", "lady", "guy", "people", "human",
        "player", "skateboarder", "skier", "snowboarder", "surfer", "biker", "cyclist", "rider", "someone",
    ),
    "bicycle": ("bike",),
    "car": ("taxi", "cab", "sedan"),
    "motorcycle": ("motorbike", "motor bike", "moped", "dirt bike"),
    "airplane": ("plane", "jet", "aeroplane", "aircraft"),
    "train": ("locomotive",),
    "boat": ("canoe", "kayak", "ship", "sailboat"),
    "traffic light": ("traffic signal", "stoplight"),
    "fire hydrant": ("hydrant",),
    "cat": ("kitten", "kitty"),
    "dog": ("puppy", "pup"),
    "horse": ("pony",),
    "sheep": ("lamb",),
    "cow": ("cattle", "bull", "calf"),
    "handbag": ("purse",),
    "tie": ("necktie",),
    "suitcase": ("luggage",),
    "skis": ("ski",),
    "sports ball": ("ball", "soccer ball", "tennis ball", "basketball", "football"),
    "baseball bat": ("bat",),
    "baseball glove": ("glove", "mitt"),
    "skateboard": ("skate board",),
    "surfboard": ("surf board",),
    "tennis racket": ("racket", "racquet", "tennis racquet"),
    "cup": ("mug",),
    "couch": ("sofa",),
    "potted plant": ("plant",),
    "dining table": ("table",),
    "tv": ("television",),
    "laptop": ("laptop computer",),
    "cell phone": ("phone", "cellphone", "smartphone"),
    "refrigerator": ("fridge",),
    "donut": ("doughnut",),
    "hot dog": ("hotdog",),
    "hair drier": ("hair dryer",),
    "teddy bear": ("stuffed bear", "teddy"),
}
# fmt: on
