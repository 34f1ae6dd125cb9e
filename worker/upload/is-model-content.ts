import { open, type FileHandle } from "node:fs/promises";
import { gunzipSync, inflateSync, constants } from "node:zlib";
import { readZipDirectory } from "#storage/inspect/read-zip.ts";
import { withFileSource } from "./read-pickle-of.ts";

/** `{"learner":` begins every model that XGBoost writes as JSON; its keys are sorted. */
const XGBOOST = /^\s*\{\s*"learner"\s*:/;
const HDF5 = "\u0089HDF\r\n\u001a\n";
/** Attributes of the root that Keras writes before any weights. */
const KERAS = /keras_version|layer_names/;
/** stable-baselines3 writes its version into every archive. */
const SB3 = "_stable_baselines3_version";

const LIBRARY =
  "(?:sklearn\\.(?!utils\\b|datasets\\b)|xgboost\\.|lightgbm\\.|catboost\\.|statsmodels\\.|imblearn\\.|hmmlearn\\.|sksurv\\.)[\\w.]+";
/** A pickle names the class of an object by its module: as two short texts (protocol 4 and later), or as lines. */
const ESTIMATOR = new RegExp(`\\x8c[^]${LIBRARY}\\x94\\x8c[^]\\w+\\x94\\x93|c${LIBRARY}\\n\\w+\\n`);

const READ_BYTES = 64 * 1024;
/** Of a compressed file: a kilobyte may stand for a megabyte. */
const PACKED_BYTES = 4 * 1024;
const MOST_UNPACKED_BYTES = 8 * 1024 * 1024;

/**
 * Returns whether the content of a file whose name leaves it open is a model: of XGBoost (JSON), Keras (HDF5), scikit-learn and the like
 * (pickle, joblib; also packed by zlib or gzip), stable-baselines3 (zip). Nothing in it is executed. No faults.
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
    return ESTIMATOR.test(unpacked(start).toString("latin1"));
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

/** @throws when it is not what its first bytes say */
function unpacked(start: Buffer): Buffer {
  // Only the beginning is in hand.
  const how = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_UNPACKED_BYTES };
  const packed = start.subarray(0, PACKED_BYTES);
  if (start[0] === 0x78) return inflateSync(packed, how);
  return start[0] === 0x1f && start[1] === 0x8b ? gunzipSync(packed, how) : start;
}
