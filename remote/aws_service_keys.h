// Temporary keys for S3 that a service issues to pods, containers and machines in a cloud.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "remote/s3_sign.h"

namespace ckpt {

// The service to ask: STS for the role of a web identity (pods of EKS and others), or the endpoint
// of a container (ECS, EKS Pod Identity).
struct AwsService {
  std::string role_arn, token_file, session_name, sts_endpoint;  // for STS
  std::string container_url, container_token, container_token_file;
  bool is_set() const { return !token_file.empty() || !container_url.empty(); }
};
// Finds the service that the environment names. Fails: kUsage: a web identity without AWS_ROLE_ARN;
// a container's address that is neither https nor one of those that AWS reserves.
Result<AwsService> aws_service(const std::string& region);

// Asks `service` for keys. The result asks again when they are about to expire. Fails: as
// http_send() and http_failure(); kIo: an answer without keys, or a token that cannot be read.
Result<S3KeySource> keys_of_service(AwsService service);

}  // namespace ckpt
