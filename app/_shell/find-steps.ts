"use client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { FoundCheckpoint } from "#protocol/wire/checkpoint-pages.ts";
import { hub } from "../_hub/queries/client.ts";

const SETTLE_MS = 120;
const NONE: readonly FoundCheckpoint[] = [];

/** Returns the steps and tags that match the typed words, after a pause in typing. */
export function useFoundSteps(words: string): readonly FoundCheckpoint[] {
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(words.slice(0, 128)), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [words]);
  const found = useQuery({
    queryKey: ["checkpoints", "search", asked],
    queryFn: () => hub.checkpoints.search.query({ words: asked }),
    enabled: asked !== "",
    placeholderData: keepPreviousData,
  });
  return words === "" ? NONE : (found.data ?? NONE);
}
