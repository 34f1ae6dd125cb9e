"use client";
import NextLink from "next/link";
import { useRouter } from "next/navigation";
import type { ComponentProps } from "react";

/**
 * A link to another page, which is asked for when the pointer comes to it. Next would ask for all that stand in view, while
 * the page itself is being drawn: dozens of requests where a list of transfers names node, run and checkpoint in each line.
 */
export function Link({ href, onPointerEnter, ...rest }: ComponentProps<typeof NextLink> & { href: string }) {
  const router = useRouter();
  return (
    <NextLink
      {...rest}
      href={href}
      prefetch={false}
      onPointerEnter={(event) => {
        if (href.startsWith("/")) router.prefetch(href);
        onPointerEnter?.(event);
      }}
    />
  );
}
