SELECT failproof.record_price(%s, %s, %s, %s, %s, %s)
