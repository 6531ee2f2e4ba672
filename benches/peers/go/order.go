package main

import (
	"errors"
	"fmt"
)

// order is the message of the typed jobs; every peer has the same fields.
type order struct {
	ID       int64  `json:"id"`
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Carrier  string `json:"carrier"`
	Items    []item `json:"items"`
	Note     string `json:"note"`
}

type item struct {
	SKU   string `json:"sku"`
	Count int32  `json:"count"`
	Price int64  `json:"price"`
}

var errBusy = errors.New("the carrier is busy")

type negativeError int64

func (n negativeError) Error() string { return fmt.Sprintf("amount %d is negative", int64(n)) }

// ledger is what the handler does, in every peer the same: checks, sums up, and sees whether orders ascend.
type ledger struct {
	sum, disorder, next int64
}

func (l *ledger) handle(o *order, attempt int) error {
	if o.ID < l.next {
		l.disorder++
	}
	l.next = o.ID
	if o.Amount < 0 {
		return negativeError(o.Amount)
	}
	if o.Carrier == "busy" && attempt < 3 {
		return errBusy
	}
	l.sum += o.Amount
	return nil
}
