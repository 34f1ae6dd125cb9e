import * as z from "zod";
import { addressText } from "../base/bounded.ts";
import { id, whyPathRefused } from "../base/names.ts";

/** Places in buckets from which a job gets data before its start, and to which its results go after its end. */

const MOST_PLACES = 16;
const MOST_FILES = 256;

/** A path below the job's own folder. `.`: that folder. */
const ownPath = z
  .string()
  .max(800)
  .superRefine((path, context) => {
    const why = path === "." ? null : whyPathRefused(path);
    if (why === null) return;
    context.addIssue({ code: "custom", message: `the path was refused: ${why}; it lies below the job's own folder` });
  });

/** Beginning of keys, from the top of the bucket. */
const keyPrefix = addressText(800).superRefine((prefix, context) => {
  const why = prefix === "" ? null : whyPathRefused(prefix.replace(/\/$/, ""));
  if (why !== null) context.addIssue({ code: "custom", message: `the prefix was refused: ${why}` });
});

/** Name of a bucket profile of the hub. Default: the one of the node that takes the job. */
const profile = addressText(128).trim().min(1).optional();

const input = z.strictObject({
  profile,
  /** A folder of objects, or the key of one. */
  prefix: keyPrefix,
  /** Folder below the working folder in which the objects lie when the program starts. */
  folder: ownPath.default("."),
});

const output = z
  .strictObject({
    profile,
    prefix: keyPrefix.refine((prefix) => prefix !== "", "results go below a prefix"),
    /** Folder whose files are saved, or single files; both below the working folder. */
    folder: ownPath.optional(),
    files: z.array(ownPath).min(1).max(MOST_FILES).optional(),
  })
  .refine(({ folder, files }) => (folder === undefined) !== (files === undefined), "it has either a folder or files");

/** As people write them. */
export const draftPlaces = {
  inputs: z.array(input).max(MOST_PLACES).default([]),
  outputs: z.array(output).max(MOST_PLACES).default([]),
};

/** The profile that its name meant at the submission; null: that of the node. */
const profileId = id.nullable().default(null);
/** As the hub stores them. */
export const storedPlaces = {
  inputs: z.array(input.extend({ profileId })).max(MOST_PLACES).default([]),
  outputs: z.array(output.safeExtend({ profileId })).max(MOST_PLACES).default([]),
};
export type JobInput = z.infer<typeof storedPlaces.inputs>[number];
export type JobOutput = z.infer<typeof storedPlaces.outputs>[number];

/** Returns the path of an object below its place; null when it does not lie there. `prefix` may be the key of one object. */
export function pathBelow(prefix: string, key: string): string | null {
  if (key === prefix) return key.slice(key.lastIndexOf("/") + 1);
  const folder = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
  return key.startsWith(folder) ? key.slice(folder.length) : null;
}

/** Returns the key of a file below an output. */
export const outputKey = (prefix: string, path: string): string => `${prefix.replace(/\/?$/, "/")}${path}`;
