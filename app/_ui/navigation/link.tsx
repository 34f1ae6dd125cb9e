"use client";
import NextLink from "next/link";
import { useRouter } from "next/navigation";
import type { ComponentProps } from "react";
import { useGo } from "./going.tsx";

/**
 * A link to another page, which is asked for when the pointer comes to it. Next would ask for all that stand in view, while
 * the page itself is being drawn: dozens of requests where a list of transfers names node, run and checkpoint in each line.
 */
export function Link({
  href,
  onPointerEnter,
  onNavigate,
  ...rest
}: ComponentProps<typeof NextLink> & { href: string }) {
  const router = useRouter();
  const go = useGo();
  return (
    <NextLink
      {...rest}
      href={href}
      prefetch={false}
      onPointerEnter={(event) => {
        if (href.startsWith("/")) router.prefetch(href);
        onPointerEnter?.(event);
      }}
      onNavigate={(event) => {
        onNavigate?.(event);
        // Places within the page are there already.
        if (go === null || href.startsWith("#")) return;
        event.preventDefault();
        go(href, { as: rest.replace === true ? "replacement" : "step", scroll: rest.scroll ?? true });
      }}
    />
  );
}
