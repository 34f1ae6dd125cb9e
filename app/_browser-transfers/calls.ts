import { Fault } from "#protocol/faults/fault.ts";
import type { CorsAnswer, FinishedUpload, StartedUpload, UploadedPart } from "#protocol/buckets/browser-transfers.ts";
import type { SignedRequest } from "#protocol/wire/operations.ts";
import { askHub } from "./ask-hub.ts";
import { hub } from "../_hub/queries/client.ts";

/** Calls the hub for uploads. All calls throw a Fault when they fail. */

interface Begin {
  profileId: string;
  ifThere: "keep" | "replace";
  files: { id: string; key: string; sizeBytes: number }[];
}

export const beginUploads = (input: Begin): Promise<StartedUpload[]> =>
  askHub(hub.browserTransfers.start.mutate(input));

export const signParts = async (id: string, parts: { partNumber: number; crc32: string }[]): Promise<SignedRequest[]> =>
  (await askHub(hub.browserTransfers.sign.mutate({ id, parts }))).requests;

export const listParts = async (id: string): Promise<UploadedPart[]> =>
  (await askHub(hub.browserTransfers.parts.query({ id }))).parts;

export const giveUp = (ids: string[]): Promise<unknown> => askHub(hub.browserTransfers.giveUp.mutate({ ids }));

export const askCors = (profileId: string): Promise<CorsAnswer> =>
  askHub(hub.browserTransfers.cors.mutate({ profileId }));

const FINISH_WITHIN_MS = 40;
const MOST_AT_ONCE = 50;

interface Waiting {
  id: string;
  sums: string[];
  resolve: (answer: FinishedUpload) => void;
  reject: (error: unknown) => void;
}

let waiting: Waiting[] = [];

async function flush(): Promise<void> {
  const some = waiting.slice(0, MOST_AT_ONCE);
  waiting = waiting.slice(MOST_AT_ONCE);
  if (waiting.length > 0) void flush();
  try {
    const uploads = some.map(({ id, sums }) => ({ id, sums }));
    const answers = new Map(
      (await askHub(hub.browserTransfers.finish.mutate({ uploads }))).map((answer) => [answer.id, answer]),
    );
    for (const { id, resolve, reject } of some) {
      const answer = answers.get(id);
      if (answer === undefined) reject(new Fault("INTERNAL", { op: "finish" }));
      else resolve(answer);
    }
  } catch (error) {
    for (const { reject } of some) reject(error);
  }
}

/**
 * Completes an upload. Calls within `FINISH_WITHIN_MS` share one request, because many small files end at about the same time.
 */
export const finishUpload = (id: string, sums: string[]): Promise<FinishedUpload> =>
  new Promise((resolve, reject) => {
    waiting.push({ id, sums, resolve, reject });
    if (waiting.length === 1) setTimeout(() => void flush(), FINISH_WITHIN_MS);
  });
