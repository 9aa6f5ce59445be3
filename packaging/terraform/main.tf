# User data for workers: one template, validated by machineadm before a machine exists. It needs no provider: copy it into
# your module and hand user_data to your instances.
terraform {
  required_version = ">= 1.4.0"
}

variable "workers" {
  description = "The names of the machines."
  type        = set(string)
}

variable "kubernetes_version" {
  type = string
}

variable "endpoint" {
  description = "The API server, as host:port."
  type        = string
}

variable "token" {
  description = "A bootstrap token. The state and the user data contain it: use a short-lived one."
  type        = string
  sensitive   = true
}

variable "ca_cert_hashes" {
  type = list(string)
}

variable "machineadm" {
  description = "machineadm on the machine that runs Terraform."
  type        = string
  default     = "machineadm"
}

variable "machineadm_in_image" {
  description = "The path of machineadm in the image of the machines."
  type        = string
  default     = "/usr/local/bin/machineadm"
}

locals {
  documents = {
    for name in var.workers : name => templatefile("${path.module}/bootstrap.yaml.tftpl", {
      name               = name
      kubernetes_version = var.kubernetes_version
      endpoint           = var.endpoint
      token              = var.token
      ca_cert_hashes     = var.ca_cert_hashes
    })
  }
}

# An invalid document ends the apply with the place and the remedy of each mistake. What depends on it is not created.
resource "terraform_data" "validated" {
  for_each = local.documents
  # Not the document itself: a plan prints the output of this resource, which Terraform does not know to be sensitive.
  triggers_replace = sha256(each.value)

  # A document that turns out to be invalid does not take away the one that it would have replaced.
  lifecycle {
    create_before_destroy = true
  }

  provisioner "local-exec" {
    # Terraform hides the output of a provisioner whose environment is sensitive. It never prints the environment.
    command = "printf '%s' \"$DOCUMENT\" | base64 -d | \"$MACHINEADM\" validate -f -"
    environment = {
      DOCUMENT   = nonsensitive(base64encode(each.value))
      MACHINEADM = var.machineadm
    }
  }
}

output "user_data" {
  description = "User data for cloud-init, by the name of the machine."
  sensitive   = true
  depends_on  = [terraform_data.validated]
  value = {
    for name, document in local.documents : name => "#cloud-config\n${yamlencode({
      write_files = [{
        path        = "/etc/machineadm/bootstrap.yaml"
        owner       = "root:root"
        permissions = "0600"
        encoding    = "gz+b64"
        content     = base64gzip(document)
      }]
      runcmd = ["${var.machineadm_in_image} provision -d /etc/machineadm/bootstrap.yaml"]
    })}"
  }
}
