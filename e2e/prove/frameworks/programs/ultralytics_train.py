"""ultralytics' YOLO over eight made pictures: FOLDER. The project folder is FOLDER/runs/detect, as it is by default below a working folder."""

import os
import sys

import numpy
from PIL import Image

FOLDER, DATA = sys.argv[1:3]
os.environ["YOLO_CONFIG_DIR"] = DATA
os.environ["YOLO_OFFLINE"] = "true"
import journal
from ultralytics import YOLO

EPOCHS = 6


def make_pictures() -> str:
    """Makes a data set of eight pictures beside the watched folder and returns its description."""
    random = numpy.random.default_rng(7)
    description = os.path.join(DATA, "eight.yaml")
    if os.path.exists(description):
        return description
    for name in ("images", "labels"):
        os.makedirs(os.path.join(DATA, name), exist_ok=True)
    for at in range(8):
        Image.fromarray(random.integers(0, 255, (32, 32, 3), dtype="uint8")).save(os.path.join(DATA, f"images/{at}.png"))
        with open(os.path.join(DATA, f"labels/{at}.txt"), "w", encoding="ascii") as file:
            file.write(f"{at % 2} 0.5 0.5 0.4 0.4\n")
    with open(description, "w", encoding="ascii") as file:
        file.write(f"path: {DATA}\ntrain: images\nval: images\nnames: {{0: a, 1: b}}\n")
    return description


def make_model() -> str:
    """Writes down a detector of two layers and returns its description."""
    description = os.path.join(DATA, "two.yaml")
    with open(description, "w", encoding="ascii") as file:
        file.write("""nc: 2
reg_max: 1
scales:
  n: [1.0, 0.25, 16]
backbone:
  - [-1, 1, Conv, [4, 3, 2]]
  - [-1, 1, Conv, [4, 3, 2]]
head:
  - [[1], 1, Detect, [nc]]
""")
    return description


def note(trainer):
    journal.write({"step": trainer.epoch + 1, "loss": sum(float(one) for one in trainer.tloss.values())})


data = make_pictures()
project = os.path.join(FOLDER, "runs", "detect")
last = os.path.join(project, "train", "weights", "last.pt")
for one in sorted(os.listdir(project), key=lambda name: os.path.getmtime(os.path.join(project, name))) if os.path.isdir(project) else []:
    found = os.path.join(project, one, "weights", "last.pt")
    last = found if os.path.exists(found) else last
resumes = os.path.exists(last)
model = YOLO(last if resumes else make_model())
model.add_callback("on_train_epoch_end", note)
model.add_callback("on_train_epoch_start", lambda trainer: journal.hold(trainer.epoch))
model.add_callback("on_train_start", lambda trainer: journal.begin(trainer.start_epoch))
if resumes:
    model.train(resume=True)
else:
    model.train(data=data, epochs=EPOCHS, imgsz=32, batch=4, project=project, device="cpu", workers=0, save_period=2,
                plots=False, seed=0)  # fmt: skip
journal.final(journal.weigh(model.model.parameters()))
