"""xgboost's TrainingCheckPoint: FOLDER. Writes `model_0.ubj`, `model_10.ubj` and so on."""

import glob
import os
import re
import sys

import journal
import numpy
import xgboost

FOLDER = sys.argv[1]
ROUNDS, EVERY = 41, 10


class Journal(xgboost.callback.TrainingCallback):
    def __init__(self, before: int):
        self.before = before

    def after_iteration(self, model, epoch, evals_log):
        journal.record(self.before + epoch + 1, evals_log["train"]["rmse"][-1])
        return False


random = numpy.random.default_rng(7)
inputs = random.normal(size=(200, 8))
data = xgboost.DMatrix(inputs, numpy.sin(inputs.sum(axis=1)))
found = max(glob.glob(os.path.join(FOLDER, "model_*.ubj")), key=lambda path: int(re.findall(r"\d+", path)[-1]), default=None)
model, done = None, 0
if found is not None:
    model = xgboost.Booster(model_file=found)
    done = model.num_boosted_rounds()
journal.begin(done)
saver = xgboost.callback.TrainingCheckPoint(directory=FOLDER, name="model", interval=EVERY)
model = xgboost.train(
    {"max_depth": 3, "nthread": 1}, data, num_boost_round=ROUNDS - done, evals=[(data, "train")], verbose_eval=False,
    xgb_model=model, callbacks=[saver, Journal(done)],
)  # fmt: skip
journal.final(float(numpy.abs(model.predict(data)).sum()))
