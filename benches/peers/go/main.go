package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "peer-go:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	j, err := readJob()
	if err != nil {
		return err
	}
	switch j.name {
	case "consume":
		return consume(ctx, j)
	case "typed", "storm", "mixed":
		return orders(ctx, j)
	case "produce":
		return produce(ctx, j, false)
	case "produce-dead":
		return produce(ctx, j, true)
	}
	return fmt.Errorf("this peer has no job %q", j.name)
}
