import { join } from "node:path";
import * as z from "zod";
import { readStateFile, writeStateFile } from "../host/state-file.ts";

/**
 * Identity of this node at its hub. Written at enrolment and at each replacement of the credential. The join token is not
 * needed after enrolment and is not stored.
 */
const stored = z.object({
  hub: z.string(),
  nodeId: z.string(),
  name: z.string(),
  credential: z.string(),
  /** Replacement of `credential` that the hub may have accepted already. */
  next: z.string().optional(),
});
export type NodeCredential = z.infer<typeof stored>;

const pathIn = (state: string) => join(state, "node.json");

export const readCredential = (state: string): Promise<NodeCredential | null> => readStateFile(pathIn(state), stored);
/** Holder of the credential that calls to the hub use; replaced in place. */
export interface Held {
  credential: NodeCredential | null;
}

export const storeCredential = (state: string, credential: NodeCredential): Promise<void> =>
  writeStateFile(pathIn(state), credential);
