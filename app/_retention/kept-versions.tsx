"use client";
import { useQuery } from "@tanstack/react-query";
import { versionsWords } from "./empty-dialog.tsx";
import { versionsQuery } from "./retention-queries.ts";

/** Says in which buckets of a run a deletion frees nothing; renders nothing while that is unknown. */
export function KeptVersions({ run }: { run: string }) {
  const words = versionsWords(useQuery(versionsQuery(run)).data ?? []);
  return words === null ? null : <p className="basis-full text-soft">{words}</p>;
}
