"use client";
import { useQuery } from "@tanstack/react-query";
import { usePathname, useRouter } from "next/navigation";
import { useEffect, type ReactNode } from "react";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { PersonProvider } from "../_hub/session/person.tsx";
import { statusQuery } from "../_hub/queries/queries.ts";
import { useLiveLink } from "../_hub/live/use-live-link.ts";
import { Shell, ShellSkeleton } from "./shell.tsx";

/** Shows pages to signed-in people and keeps the live link; others are redirected to sign-in or first-run. */
export function Gate({ children }: { children: ReactNode }) {
  const router = useRouter();
  const path = usePathname();
  const status = useQuery(statusQuery());
  const person = status.data?.person ?? null;
  const door =
    status.data === undefined
      ? null
      : status.data.needsSetup
        ? "/first-run"
        : person === null
          ? `/sign-in${path === "/" ? "" : `?next=${encodeURIComponent(path)}`}`
          : null;
  useEffect(() => {
    if (door !== null) router.replace(door);
  }, [door, router]);

  useLiveLink(person?.id ?? null);

  if (status.isError && status.data === undefined)
    return (
      <main className="mx-auto max-w-[720px] p-6">
        <FaultNote fault={faultOf(status.error)} onRetry={() => void status.refetch()} />
      </main>
    );
  if (person === null || status.data === undefined) return <ShellSkeleton />;
  return (
    <PersonProvider person={person}>
      <Shell>{children}</Shell>
    </PersonProvider>
  );
}
