import type { JobDraft } from "#protocol/jobs/job-spec.ts";

/** Inputs and outputs of a job as lines that people write: `bucket: data/train -> data`, and `out -> bucket: results/1`. */

type Input = NonNullable<JobDraft["inputs"]>[number];
type Output = NonNullable<JobDraft["outputs"]>[number];

const ARROW = " -> ";
const COLON = ": ";

const placeWords = ({ profile, prefix }: Pick<Input, "profile" | "prefix">): string =>
  profile === undefined ? prefix : `${profile}${COLON}${prefix}`;

function readPlace(text: string): { profile?: string; prefix: string } {
  const at = text.indexOf(COLON);
  if (at < 0) return { prefix: text.trim() };
  return { profile: text.slice(0, at).trim(), prefix: text.slice(at + COLON.length).trim() };
}

export const inputLine = ({ folder = ".", ...place }: Input): string => `${placeWords(place)}${ARROW}${folder}`;

export const outputLine = ({ folder, files = [], ...place }: Output): string =>
  `${folder ?? files.join(", ")}${ARROW}${placeWords(place)}`;

/** Returns the input of a line; null when the line has no arrow with something on both sides. */
export function readInputLine(line: string): Input | null {
  const [place = "", folder = "", ...more] = line.split(ARROW).map((part) => part.trim());
  return place === "" || folder === "" || more.length > 0 ? null : { ...readPlace(place), folder };
}

/** Returns the output of a line. Several paths, or one with a dot in its last name, are files. */
export function readOutputLine(line: string): Output | null {
  const [from = "", place = "", ...more] = line.split(ARROW).map((part) => part.trim());
  if (from === "" || place === "" || more.length > 0) return null;
  const paths = from.split(",").map((path) => path.trim());
  const isFile = paths.length > 1 || /\.[^./]+$/.test(from);
  return { ...readPlace(place), ...(isFile ? { files: paths } : { folder: from }) };
}
