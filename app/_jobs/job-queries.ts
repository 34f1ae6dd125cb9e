import { keepPreviousData, queryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { hub } from "../_hub/queries/client.ts";
import { askedBy, type JobsAsked } from "./job-words.ts";

/** Queries about jobs. A "stale" message of the topic `jobs` refetches them; the interval covers reports without one. */

const PAGE = 200;
const EVERY_MS = 10_000;
const newest = (): number | null => null;

export const queuesQuery = () =>
  queryOptions({ queryKey: ["jobs", "queues"], queryFn: () => hub.jobs.queues.query(), refetchInterval: EVERY_MS });

export const schedulesQuery = () =>
  queryOptions({
    queryKey: ["jobs", "schedules"],
    queryFn: () => hub.jobs.schedules.query(),
    refetchInterval: EVERY_MS,
  });

/** The newest job, by which a submission form is filled. */
export const lastJobQuery = () =>
  queryOptions({
    queryKey: ["jobs", "last"],
    queryFn: async () => {
      const { rows } = await hub.jobs.list.query({ limit: 1 });
      const [last] = rows;
      return last === undefined ? null : (await hub.jobs.get.query({ id: last.id })).spec;
    },
  });

/** Returns the jobs that match a filter, newest first, page by page. */
export function useJobPages(asked: JobsAsked) {
  return useInfiniteQuery({
    queryKey: ["jobs", "list", asked],
    queryFn: ({ pageParam }) => hub.jobs.list.query({ ...askedBy(asked), cursor: pageParam, limit: PAGE }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  });
}
