import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { PlaceAsked } from "#protocol/checkpoint/inspect.ts";
import { hub } from "../_hub/queries/client.ts";

/** Queries about the content of checkpoints. Complete checkpoints never change, so the results never go stale. */

export const FILES_AT_ONCE = 500;

export interface FilesAsked {
  checkpointId: string;
  words: string;
  sort: "path" | "size";
  /** Index of the first file. */
  offset: number;
}

export const filesQuery = (asked: FilesAsked) =>
  queryOptions({
    queryKey: ["checkpoints", asked.checkpointId, "files", asked],
    queryFn: () => hub.checkpoints.files.query({ ...asked, limit: FILES_AT_ONCE }),
  });

export const fileInsideQuery = (place: PlaceAsked, tensors: number) =>
  queryOptions({
    queryKey: ["inspect", "file", place, tensors],
    queryFn: ({ signal }) => hub.inspect.file.query({ place, tensors }, { signal }),
    staleTime: Infinity,
    retry: false,
    placeholderData: keepPreviousData,
  });

export const checkpointInsideQuery = (checkpointId: string) =>
  queryOptions({
    queryKey: ["inspect", "checkpoint", checkpointId],
    queryFn: ({ signal }) => hub.inspect.checkpoint.query({ checkpointId }, { signal }),
    staleTime: Infinity,
    retry: false,
  });

export const compareQuery = (from: string, to: string) =>
  queryOptions({
    queryKey: ["inspect", "compare", from, to],
    queryFn: ({ signal }) =>
      hub.inspect.compare.query({ from: { checkpointId: from }, to: { checkpointId: to } }, { signal }),
    staleTime: Infinity,
    retry: false,
  });

/** Asks for the newest complete checkpoints of a run, for selection. */
export const stepsQuery = (run: string) =>
  queryOptions({
    queryKey: ["runs", run, "steps"],
    queryFn: () => hub.checkpoints.list.query({ run, states: ["complete"], limit: 200 }),
  });
