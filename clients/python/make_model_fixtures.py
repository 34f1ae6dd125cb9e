"""
Writes the files that `worker/capture/detection/is-model-content.test.ts` reads: models in the formats of their libraries,
and plain data in the same formats. Needs an environment with e2e/prove/frameworks/requirements.txt.

    python make_model_fixtures.py ../../e2e/stage/fixtures/real-models.tar.gz
"""

import os
import pickle
import sys
import tarfile
import tempfile

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"

import h5py  # noqa: E402
import joblib  # noqa: E402
import keras  # noqa: E402
import numpy  # noqa: E402
import xgboost  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.utils import Bunch  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402

features = numpy.random.default_rng(0).random((20, 2))
labels = (features[:, 0] > 0.5).astype(int)

with tempfile.TemporaryDirectory() as folder:
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    model = LogisticRegression().fit(features, labels)
    joblib.dump(model, at("model.joblib"))
    joblib.dump(model, at("zlib.joblib"), compress=3)
    joblib.dump(model, at("gzip.joblib"), compress=("gzip", 3))
    for protocol in (2, 5):
        with open(at(f"protocol-{protocol}.pkl"), "wb") as file:
            pickle.dump({"model": model}, file, protocol=protocol)
    joblib.dump(xgboost.XGBClassifier(n_estimators=1, max_depth=1).fit(features, labels), at("trees.joblib"))
    xgboost.train({}, xgboost.DMatrix(features, labels), 1).save_model(at("trees.json"))
    net = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    net.compile("sgd", "mse")
    net.save(at("net.h5"))
    PPO("MlpPolicy", "CartPole-v1", policy_kwargs={"net_arch": [1]}, device="cpu").save(at("agent.zip"))

    joblib.dump({"features": features, "text": "from sklearn.linear_model import LogisticRegression"}, at("data.joblib"))
    joblib.dump(Bunch(data=features), at("bunch.joblib"), compress=3)
    with h5py.File(at("data.h5"), "w") as file:
        file["features"] = features
    with open(at("settings.json"), "w") as file:
        file.write('{"learner": "fast"}'.replace("learner", "learning_rate"))
    with tarfile.open(sys.argv[1], "w:gz") as archive:
        for name in sorted(os.listdir(folder)):
            archive.add(at(name), arcname=name)
