import { join } from "node:path";
import * as z from "zod";
import { readStateFile, writeStateFile } from "../host/state-file.ts";

/**
 * Who this node is at its hub. Written at enrolment, and again when the credential is replaced; the join token is not needed
 * after that and is not kept.
 */
const stored = z.object({
  hub: z.string(),
  nodeId: z.string(),
  name: z.string(),
  credential: z.string(),
  /** A new credential that the hub may have taken already. */
  next: z.string().optional(),
});
export type NodeCredential = z.infer<typeof stored>;

const pathIn = (state: string) => join(state, "node.json");

export const readCredential = (state: string): Promise<NodeCredential | null> => readStateFile(pathIn(state), stored);
/** What calls to the hub carry. */
export interface Held {
  credential: NodeCredential | null;
}

export const storeCredential = (state: string, credential: NodeCredential): Promise<void> =>
  writeStateFile(pathIn(state), credential);
