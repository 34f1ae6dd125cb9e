import { queryOptions } from "@tanstack/react-query";
import { hub } from "../_hub/queries/client.ts";

/** Queries about groups. A "stale" message of the topic `groups` refetches them; the interval covers changes at the provider. */

const EVERY_MS = 20_000;

export const accountsQuery = () =>
  queryOptions({
    queryKey: ["groups", "accounts"],
    queryFn: () => hub.groups.accounts.list.query(),
    refetchInterval: EVERY_MS,
  });

export const groupsQuery = (accountId: string) =>
  queryOptions({
    queryKey: ["groups", "list", accountId],
    queryFn: () => hub.groups.list.query({ accountId }),
    refetchInterval: EVERY_MS,
  });
