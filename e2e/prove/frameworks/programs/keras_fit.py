"""Keras: FOLDER VARIANT. `backup`: BackupAndRestore. `checkpoint`: ModelCheckpoint and a glob. `weights`: one `.weights.h5` for each epoch."""

import glob
import os
import re
import sys

os.environ["KERAS_BACKEND"] = "jax"
import journal
import keras
import numpy

FOLDER, VARIANT = sys.argv[1:3]
EPOCHS = 8
keras.utils.set_random_seed(0)
random = numpy.random.default_rng(7)
inputs = random.normal(size=(32, 8)).astype("float32")
targets = numpy.sin(inputs.sum(axis=1, keepdims=True)).astype("float32")


class Journal(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if not self.has_begun:
            journal.begin(epoch)
        self.has_begun = True
        # After everything that the other callbacks save at the end of an epoch.
        journal.hold(epoch)

    def on_epoch_end(self, epoch, logs=None):
        journal.write({"step": epoch + 1, "loss": float(logs["loss"])})

    has_begun = False


def build():
    model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.build((None, 8))
    return model


def newest(pattern: str):
    return max(glob.glob(os.path.join(FOLDER, pattern)), key=lambda path: int(re.findall(r"\d+", path)[-1]), default=None)


first, model, callbacks = 0, None, []
if VARIANT == "backup":
    model = build()
    callbacks = [keras.callbacks.BackupAndRestore(backup_dir=os.path.join(FOLDER, "backup"))]
elif VARIANT == "checkpoint":
    found = newest("model-*.keras")
    model = build() if found is None else keras.models.load_model(found)
    first = 0 if found is None else int(re.findall(r"\d+", os.path.basename(found))[-1])
    callbacks = [keras.callbacks.ModelCheckpoint(os.path.join(FOLDER, "model-{epoch:02d}.keras"))]
else:
    model = build()
    found = newest("epoch_*.weights.h5")
    if found is not None:
        model.load_weights(found)
        first = int(re.findall(r"\d+", os.path.basename(found))[-1])
    path = os.path.join(FOLDER, "epoch_{epoch:03d}.weights.h5")
    callbacks = [keras.callbacks.ModelCheckpoint(path, save_weights_only=True)]
model.fit(
    inputs, targets, batch_size=8, epochs=EPOCHS, initial_epoch=first, shuffle=False, verbose=0,
    callbacks=[*callbacks, Journal()],
)  # fmt: skip
journal.final(sum(float(numpy.abs(one).sum()) * (at + 1) for at, one in enumerate(model.get_weights())))
