-- What is asked of the certificate of a profile's store: authorities of its own (PEM), and keys of which it must have one.
ALTER TABLE "Profile" ADD COLUMN "trustCa" TEXT;
ALTER TABLE "Profile" ADD COLUMN "trustPin" TEXT;
