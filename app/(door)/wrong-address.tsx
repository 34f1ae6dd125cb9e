"use client";
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { statusQuery } from "../_hub/queries/queries.ts";
import { Banner } from "../_ui/feedback/banner.tsx";
import { ButtonLink } from "../_ui/controls/button.tsx";

const never = () => () => undefined;

/** Warns when the page was opened at another origin than the hub's own, where sign-in is refused. */
export function WrongAddress() {
  const here = useSyncExternalStore(
    never,
    () => window.location.origin,
    () => null,
  );
  const status = useQuery(statusQuery());
  const right = status.data?.publicOrigin ?? null;
  if (here === null || right === null || right === here) return null;
  return (
    <Banner
      tone="risk"
      title={`This page was opened at ${here}. The hub's address is ${right}.`}
      action={
        <ButtonLink size="small" href={right}>
          Open {right}
        </ButtonLink>
      }
    >
      Signing in works only there.
    </Banner>
  );
}
