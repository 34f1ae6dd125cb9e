"use client";
import { Button } from "./_ui/controls/button.tsx";

/** Replaces a page that throws while rendering. Data at the hub is not affected. */
export default function PageError({ reset, error }: { reset: () => void; error: Error & { digest?: string } }) {
  return (
    <main role="alert" className="mx-auto max-w-[680px] px-4 pt-[16vh]">
      <h1 className="text-20 font-semibold tracking-[-.02em] sm:text-28">This page could not be displayed.</h1>
      <p className="mt-1 mb-4 text-soft">
        Nodes go on saving; nothing at the hub is affected.
        {error.digest !== undefined && <span className="font-mono text-12"> {error.digest}</span>}
      </p>
      <Button look="main" onClick={reset}>
        Try again
      </Button>
    </main>
  );
}
