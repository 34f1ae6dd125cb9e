import { open, type FileHandle } from "node:fs/promises";
import { readZipDirectory } from "#storage/inspect/read-zip.ts";
import { withFileSource } from "./read-pickle-of.ts";
import { unpacked } from "./unpacked.ts";

/** `{"learner":` begins every model that XGBoost writes as JSON; its keys are sorted. */
const XGBOOST = /^\s*\{\s*"learner"\s*:/;
const HDF5 = "\u0089HDF\r\n\u001a\n";
/** Attributes of the root that Keras writes before any weights. */
const KERAS = /keras_version|layer_names/;
/** stable-baselines3 writes its version into every archive. */
const SB3 = "_stable_baselines3_version";

/** Bounded repetition, so that a hostile file costs a bounded number of steps at each byte. */
const MODULE_REST = "[\\w.]{1,200}";
const CLASS = "\\w{1,200}";
const LIBRARY = `(?:sklearn\\.(?!utils\\b|datasets\\b)|xgboost\\.|lightgbm\\.|catboost\\.|statsmodels\\.|imblearn\\.|hmmlearn\\.|sksurv\\.)${MODULE_REST}`;
/** A pickle names the class of an object by its module: as two short texts (protocol 4 and later), or as lines. */
const ESTIMATOR = new RegExp(`\\x8c[^]${LIBRARY}\\x94\\x8c[^]${CLASS}\\x94\\x93|c${LIBRARY}\\n${CLASS}\\n`);

const READ_BYTES = 64 * 1024;

/**
 * Returns whether the content of a file with an ambiguous name is a model. Known are XGBoost (JSON), Keras (HDF5), scikit-learn
 * and the like (pickle, joblib; also packed by zlib or gzip), and stable-baselines3 (zip). Nothing in it is executed. No
 * faults.
 */
export async function isModelContent(path: string): Promise<boolean> {
  const ending = /\.(json|h5|hdf5|joblib|pkl|pickle|zip)$/i.exec(path)?.[1]?.toLowerCase();
  if (ending === undefined) return false;
  try {
    if (ending === "zip") return await isStableBaselines(path);
    const start = await readStart(path);
    const text = start.toString("latin1");
    if (ending === "json") return XGBOOST.test(text);
    if (ending === "h5" || ending === "hdf5") return text.startsWith(HDF5) && KERAS.test(text);
    return isEstimator((await unpacked(start)).toString("latin1"));
  } catch {
    return false;
  }
}

const isStableBaselines = async (path: string): Promise<boolean> =>
  (await withFileSource(path, readZipDirectory))?.some(({ name }) => name === SB3) === true;

async function readStart(path: string): Promise<Buffer> {
  let handle: FileHandle | null = null;
  try {
    handle = await open(path, "r");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle?.close();
  }
}

/** Returns whether the text of a pickle, one character a byte, names the class of a model. Takes linear time. */
export const isEstimator = (text: string): boolean => ESTIMATOR.test(text);
