-- Which version of the master key a text is sealed with.
-- AlterTable
ALTER TABLE "ProfileSecret" ADD COLUMN "keyVersion" INTEGER NOT NULL DEFAULT 1;

-- AlterTable
ALTER TABLE "Canary" ADD COLUMN "keyVersion" INTEGER NOT NULL DEFAULT 1;
