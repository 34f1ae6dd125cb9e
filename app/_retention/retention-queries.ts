import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { KeepPolicy } from "#protocol/retention/keeping.ts";
import { hub } from "../_hub/queries/client.ts";

/**
 * Asks for the retention policy of a run. The key begins with "runs", so whatever makes a run stale refetches it too;
 * so do those below.
 */
export const policyQuery = (run: string) =>
  queryOptions({ queryKey: ["runs", run, "policy"], queryFn: () => hub.keeping.policy.query({ run }) });
export const trashQuery = (run: string) =>
  queryOptions({ queryKey: ["runs", run, "trash"], queryFn: () => hub.keeping.trash.query({ run }) });
export const versionsQuery = (run: string) =>
  queryOptions({ queryKey: ["runs", run, "versions"], queryFn: () => hub.keeping.versions.query({ run }) });
/** Asks for the preview of a policy. With `run` null it covers every run that uses the default. */
export const previewQuery = (run: string | null, policy: KeepPolicy | null) =>
  queryOptions({
    queryKey: ["runs", run, "preview", JSON.stringify(policy)],
    queryFn: () => hub.keeping.preview.query({ run, policy }),
    placeholderData: keepPreviousData,
  });
